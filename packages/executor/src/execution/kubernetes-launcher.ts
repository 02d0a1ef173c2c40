import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { attachedProcess } from './attached-process.ts';
import { PACKAGE_INSTALLED } from './child/package-name.ts';
import { jobManifest, POD_FOLDERS } from './kubernetes-job.ts';
import { kubectl } from './kubernetes-command.ts';
import type { Launcher, TaskProcess } from './launcher.ts';
import { nodeFlags } from './limits.ts';
import type { TierSettings } from './options.ts';
import type { EventCode } from './port.ts';
import { SANDBOX_BOOTSTRAP, type Stage } from './stage.ts';
import type { Starter } from './starter/starter.ts';

const CREATE_MS = 15_000;
/** Time limit for a pod to start, including a pull of the image. */
const POD_RUNNING_SECS = 60;
const UNPACK_MS = 30_000;
const REMOVE_MS = 30_000;

/** Script that reads `{path: base64}` from standard input and writes the files; runs in the pod, as the task's user. */
const UNPACK = `
const { mkdirSync, readFileSync, writeFileSync } = require('node:fs');
const { dirname } = require('node:path');
for (const [path, text] of Object.entries(JSON.parse(readFileSync(0, 'utf8')))) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, Buffer.from(text, 'base64'), { mode: 0o444 });
}`;

/** Script that exits with 0 if the cluster's API is unreachable from a pod. */
const NO_NETWORK = `
const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = process.env;
const socket = require('node:net').connect({ host, port: Number(port) });
socket.on('connect', () => { console.error('reached ' + host + ':' + port); process.exit(1); });
socket.on('error', () => process.exit(0));
setTimeout(() => process.exit(0), 3000);`;

export interface KubernetesParts {
  readonly settings: TierSettings;
  readonly stage: Stage;
  readonly starter: Starter;
}

/**
 * Starts one Job with one pod per task, through `kubectl`. The pod first receives its code through the command, so no
 * volume is shared with the nodes; then the task's process is executed in it with its pipes attached. As in other
 * containers, frames arrive on standard output.
 */
export class KubernetesLauncher implements Launcher {
  readonly tier = 'container';
  readonly #parts: KubernetesParts;
  #started = 0;

  constructor(parts: KubernetesParts) {
    this.#parts = parts;
  }

  async start(code: EventCode | null, memoryMb: number): Promise<TaskProcess> {
    if (code === null) throw new Error('a pod needs code to start');
    const { settings, stage } = this.#parts;
    const job = await this.#createJob(memoryMb);
    try {
      const files = JSON.stringify({
        ...(await filesOf(stage.runtime, POD_FOLDERS.runtime)),
        ...(await filesOf(join(stage.runtime, 'package'), POD_FOLDERS.package)),
        ...(await filesOf(code.directory, POD_FOLDERS.event)),
      });
      const unpack = ['exec', '--stdin', '--quiet', `job/${job.name}`, '--', 'node', '-e', UNPACK];
      await kubectl(settings, unpack, { input: files, withinMs: UNPACK_MS });
      return await this.#processIn(job, memoryMb);
    } catch (error) {
      await job.remove();
      throw error;
    }
  }

  /**
   * Verifies that pods have no network. Kubernetes always gives pods one: a network policy must block it, and not every
   * cluster enforces policies.
   *
   * @throws Error if a pod can reach the network
   */
  async requireNoNetwork(): Promise<void> {
    const { settings } = this.#parts;
    const job = await this.#createJob(settings.memoryMb);
    try {
      const probe = ['exec', `job/${job.name}`, '--', 'node', '-e', NO_NETWORK];
      await kubectl(settings, probe, { withinMs: UNPACK_MS });
    } finally {
      await job.remove();
    }
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  /** @returns once the pod is running */
  async #createJob(memoryMb: number): Promise<Job> {
    const { settings } = this.#parts;
    this.#started += 1;
    const name = `heddle-${process.pid}-${this.#started}-${settings.clock.now().toString(36)}`;
    const manifest = JSON.stringify(jobManifest(name, memoryMb, settings));
    const job = new Job(settings, name);
    try {
      await kubectl(settings, ['create', '--filename', '-'], { input: manifest, withinMs: CREATE_MS });
      const until = ['--for=jsonpath={.status.ready}=1', `--timeout=${POD_RUNNING_SECS}s`];
      const withinMs = (POD_RUNNING_SECS + 5) * 1_000;
      await kubectl(settings, ['wait', ...until, `job/${name}`], { withinMs });
      return job;
    } catch (error) {
      await job.remove();
      throw error;
    }
  }

  #processIn(job: Job, memoryMb: number): Promise<TaskProcess> {
    const { settings } = this.#parts;
    const args = [...settings.container.parameters, ...taskParameters(job.name, memoryMb, settings)];
    return attachedProcess(this.#parts, { args, event: POD_FOLDERS.event, remove: () => job.remove() });
  }
}

/** Returns the `kubectl` arguments that run a task process in a job's pod, without the pod's environment. */
function taskParameters(name: string, memoryMb: number, { environment }: TierSettings): readonly string[] {
  const variables = Object.entries(environment).filter(([variable]) => variable !== 'PATH');
  return [
    ...['exec', '--stdin', '--quiet', `job/${name}`, '--', 'sh', '-c', 'exec env -i PATH="$PATH" "$@" 3>&1 1>&2', 'sh'],
    ...variables.map(([variable, value]) => `${variable}=${value}`),
    ...['node', ...nodeFlags(memoryMb), SANDBOX_BOOTSTRAP, PACKAGE_INSTALLED],
  ];
}

/** A Kubernetes Job. */
class Job {
  readonly name: string;
  readonly #settings: TierSettings;
  #removed: Promise<void> | null = null;

  constructor(settings: TierSettings, name: string) {
    this.#settings = settings;
    this.name = name;
  }

  /** Deletes the job and its pod, once however often it is called; never rejects. */
  remove(): Promise<void> {
    this.#removed ??= this.#remove();
    return this.#removed;
  }

  async #remove(): Promise<void> {
    const remove = ['delete', `job/${this.name}`, '--ignore-not-found', '--cascade=foreground', '--wait=true'];
    await kubectl(this.#settings, remove, { withinMs: REMOVE_MS }).catch((error: unknown) =>
      this.#settings.log.error({ err: error, job: this.name }, "could not delete a task's job from the cluster"),
    );
  }
}

async function filesOf(directory: string, target: string): Promise<Record<string, string>> {
  const files: Record<string, string> = {};
  for (const entry of await readdir(directory, { withFileTypes: true, recursive: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    files[join(target, path.slice(directory.length))] = (await readFile(path)).toString('base64');
  }
  return files;
}
