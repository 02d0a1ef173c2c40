import { PACKAGE_DIRECTORY } from './child/package-name.ts';
import type { TierSettings } from './options.ts';
import { SANDBOX_RUNTIME } from './stage.ts';

/** Label of every job and pod of tasks, for use in network policies. */
export const TASK_LABEL = { name: 'heddle.dev/task', value: 'true' } as const;

/** Paths inside a pod. */
export const POD_FOLDERS = {
  runtime: SANDBOX_RUNTIME,
  event: '/event',
  /** Path at which code in `event` finds this package without bringing a copy. */
  package: PACKAGE_DIRECTORY,
} as const;

/** User of tasks: `nobody`, which owns nothing. */
const USER = 65_534;
/** Memory for Node itself, in addition to the task's own. */
const NODE_MEMORY_MB = 96;
/** Lifetime of a pod whose executor was killed: the longest task plus an hour. */
const POD_SECS_MAX = 25 * 3600;
/** Size limit of the code in one pod. */
const CODE_MB_MAX = 256;

/** Returns the manifest of a job whose single pod idles until a process is executed in it. */
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
