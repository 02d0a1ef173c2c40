import type { TierSettings } from './options.ts';
import { SANDBOX_RUNTIME } from './stage.ts';

/** What every job and pod of tasks carries, so that a policy of the network can be made for them. */
export const TASK_LABEL = { name: 'heddle.dev/task', value: 'true' } as const;

/** Where things lie within a pod. */
export const POD_FOLDERS = {
  runtime: SANDBOX_RUNTIME,
  event: '/event',
  /** Where code in `event` looks for packages that it does not bring. */
  package: '/node_modules/heddle',
} as const;

/** Whom tasks run as: nobody, who owns nothing. */
const USER = 65_534;
/** What Node itself needs, on top of what the task may have. */
const NODE_MEMORY_MB = 96;
/** A pod that nobody removed, because its executor was killed, ends after this time: the longest task and an hour. */
const POD_SECS_MAX = 25 * 3600;
/** Bound of the code that one pod is given. */
const CODE_MB_MAX = 256;

/** The manifest of a job whose one pod waits until something is executed in it. */
export function jobManifest(name: string, memoryMb: number, { container, tmpBytes }: TierSettings): object {
  const labels = { [TASK_LABEL.name]: TASK_LABEL.value };
  const folders = Object.entries(POD_FOLDERS);
  const resources = { cpu: String(container.cpus), memory: `${memoryMb + NODE_MEMORY_MB}Mi` };
  const task = {
    name: 'task',
    image: container.image,
    imagePullPolicy: 'IfNotPresent',
    command: ['sleep', String(POD_SECS_MAX)],
    workingDir: '/tmp',
    resources: { limits: resources, requests: resources },
    securityContext: {
      allowPrivilegeEscalation: false,
      capabilities: { drop: ['ALL'] },
      readOnlyRootFilesystem: true,
    },
    volumeMounts: [
      ...folders.map(([volume, mountPath]) => ({ name: volume, mountPath })),
      { name: 'tmp', mountPath: '/tmp' },
    ],
  };
  const pod = {
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    restartPolicy: 'Never',
    terminationGracePeriodSeconds: 0,
    securityContext: {
      runAsNonRoot: true,
      runAsUser: USER,
      runAsGroup: USER,
      seccompProfile: { type: 'RuntimeDefault' },
    },
    containers: [task],
    volumes: [
      ...folders.map(([volume]) => ({ name: volume, emptyDir: { sizeLimit: `${CODE_MB_MAX}Mi` } })),
      { name: 'tmp', emptyDir: { medium: 'Memory', sizeLimit: String(tmpBytes) } },
    ],
  };
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name, labels },
    spec: {
      backoffLimit: 0,
      completions: 1,
      parallelism: 1,
      activeDeadlineSeconds: POD_SECS_MAX,
      ttlSecondsAfterFinished: 0,
      template: { metadata: { labels }, spec: pod },
    },
  };
}
