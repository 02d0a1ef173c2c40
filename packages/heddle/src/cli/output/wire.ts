import type { BatchEvent, HeddleClient, WorkflowEvent } from '@heddle/client';

/** The response types of the API, from the typed client. */
type Answer<Method extends (...given: never[]) => Promise<unknown>> = Awaited<ReturnType<Method>>;

export type TaskDetail = Answer<HeddleClient['getTask']>;
export type BasicTask = Answer<HeddleClient['listTasks']>[number];
export type Batch = Answer<HeddleClient['listBatches']>[number];
export type BatchDetail = Answer<HeddleClient['getBatch']>;
export type Explanation = Answer<HeddleClient['explainTask']>;
export type ContainerExplanation = Answer<HeddleClient['explainContainer']>;
export type ContainerObstacle = ContainerExplanation['obstacles'][number];
export type Obstacle = Explanation['obstacles'][number];
export type Expansion = NonNullable<Explanation['expansion']>;
export type Delivery = Answer<HeddleClient['listWebhooks']>[number];
export type DeadLetter = Answer<HeddleClient['queues']['deadLetters']>[number];
export type NewTask = Parameters<HeddleClient['submit']>[0][number];
export type Job = Answer<HeddleClient['jobs']['list']>[number];
export type JobDetail = Answer<HeddleClient['jobs']['get']>;
export type JobRun = Answer<HeddleClient['jobs']['history']>[number];
export type StoredJob = Answer<HeddleClient['jobs']['create']>;
export type NewJob = Parameters<HeddleClient['jobs']['create']>[0];
export type JobChange = Parameters<HeddleClient['jobs']['update']>[1];
export type Finding = Answer<HeddleClient['findings']['get']>;
export type Model = Answer<HeddleClient['models']['get']>;
export type PoolSummary = Answer<HeddleClient['pool']['get']>;
export type PoolRunner = Answer<HeddleClient['pool']['runner']>;
export type PoolRequest = Answer<HeddleClient['pool']['requests']>[number];
export type PoolRequestDetail = Answer<HeddleClient['pool']['request']>;
export type ResourceClass = Answer<HeddleClient['pool']['classes']>[number];
export type Requirements = Parameters<HeddleClient['pool']['provision']>[0]['requirements'];
export type Provisioned = Answer<HeddleClient['pool']['provision']>;
export type PoolRefreshed = Answer<HeddleClient['pool']['refresh']>;
export type Workflow = Answer<HeddleClient['listWorkflows']>[number];
export type WorkflowTree = Answer<HeddleClient['getWorkflow']>;
export type TreeNode = WorkflowTree['root']['children'][number];
export type TreeTask = WorkflowEvent['tasks'][number];
export type NewWorkflow = Parameters<HeddleClient['submitWorkflow']>[0];
export type { BatchEvent, WorkflowEvent };
