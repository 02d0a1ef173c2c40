import type { NodeCreation } from '@heddle/core/engine/port';
import { derivedId } from '@heddle/base/derived-id';
import { buildNode, type NameNode } from './build-node.ts';
import type { Node, Parent, Placed } from '@heddle/kit';
import { isContainerNode, isNode, isPlaced } from '@heddle/kit/nodes';

/** Stores the nodes of generators. Must be idempotent. */
export interface NodeSink {
  /** Resolves when they are stored or sent; rejects if one of them cannot be. */
  send(creations: readonly NodeCreation[]): Promise<void>;
  /** Nodes per call, 200 by default. */
  readonly batchNodes?: number;
  /** Concurrent calls, 2 by default; 1 if a container must exist before its children. */
  readonly underWayMax?: number;
}

export interface NodeEmitterOptions {
  generatorId: string;
  attempt: number;
  sink: NodeSink;
}

/**
 * Sends nodes to the sink in batches while the generator creates more: at most one batch waits and a few are being
 * sent, so that memory is bounded regardless of their number.
 */
export class NodeEmitter {
  readonly #options: NodeEmitterOptions;
  readonly #batchNodes: number;
  readonly #underWayMax: number;
  readonly #nameNode: NameNode;
  /** Created nodes by key, to detect duplicates and to find parents. */
  readonly #byKey = new Map<string, string>();
  /** Created containers, for parents that are given as the node itself. */
  readonly #byNode = new WeakMap<Node, string>();
  #waiting: { creation: NodeCreation; nodes: number }[] = [];
  #waitingNodes = 0;
  #underWay = 0;
  #underWayNodes = 0;
  #ordinal = 0;
  #sent = 0;
  #highWater = 0;
  #failure: { error: unknown } | undefined;
  #whenMoved: (() => void)[] = [];

  constructor(options: NodeEmitterOptions) {
    this.#options = options;
    this.#batchNodes = options.sink.batchNodes ?? 200;
    this.#underWayMax = options.sink.underWayMax ?? 2;
    this.#nameNode = (spec, makerId, ordinal) => this.#name(spec, keyOf(spec), makerId, ordinal);
  }

  /** Nodes created so far: the number that the generator announces. */
  get created(): number {
    return this.#sent;
  }

  /** The most nodes that were in memory at once. */
  get highWater(): number {
    return this.#highWater;
  }

  /**
   * Accepts one node. If it returns a promise, that resolves when the next node can be accepted.
   * @throws TypeError if the node is invalid; or the earlier failure of the sink
   */
  add(made: Node | Placed, place: { parent?: Parent; key?: string } = {}): Promise<void> | undefined {
    if (this.#failure !== undefined) throw this.#failure.error;
    const node = isPlaced(made) ? made.node : made;
    const parent = place.parent ?? (isPlaced(made) ? made.parent : null);
    const { generatorId, attempt } = this.#options;
    const key = place.key ?? keyOf(node);
    const id = this.#name(node, key, generatorId, this.#ordinal);
    if (key === undefined) this.#ordinal += 1;
    const built = buildNode(node, id, this.#nameNode);
    const creation = { generator_id: generatorId, attempt, node: built.node, parent: this.#parentOf(parent) };
    this.#waiting.push({ creation, nodes: built.nodes });
    this.#waitingNodes += built.nodes;
    this.#sent += 1;
    this.#highWater = Math.max(this.#highWater, this.#waitingNodes + this.#underWayNodes);
    if (this.#waitingNodes < this.#batchNodes) return undefined;
    if (this.#underWay < this.#underWayMax) {
      this.#sendBatch();
      return undefined;
    }
    return this.#room();
  }

  /** Sends the rest; resolves with the number of created nodes once the sink has all of them. */
  async close(): Promise<number> {
    while (this.#waiting.length > 0 || this.#underWay > 0) {
      if (this.#failure !== undefined) throw this.#failure.error;
      if (this.#waiting.length > 0 && this.#underWay < this.#underWayMax) this.#sendBatch();
      else await this.#moved();
    }
    if (this.#failure !== undefined) throw this.#failure.error;
    return this.#sent;
  }

  /** Drops what waits; resolves when no call is running. */
  async abandon(): Promise<void> {
    this.#failure ??= { error: new Error('the generator ended without success') };
    this.#waiting = [];
    while (this.#underWay > 0) await this.#moved();
  }

  #name(spec: Node, key: string | undefined, makerId: string, ordinal: number): string {
    const id = key === undefined ? derivedId(makerId, { ordinal }) : this.#keyedId(key);
    if (isContainerNode(spec)) this.#byNode.set(spec, id);
    return id;
  }

  #keyedId(key: string): string {
    if (typeof key !== 'string' || key === '') throw new TypeError('the key of a node must be a non-empty string');
    if (this.#byKey.has(key)) throw new TypeError(`two nodes have the key ${JSON.stringify(key)}`);
    const id = derivedId(this.#options.generatorId, { key });
    this.#byKey.set(key, id);
    return id;
  }

  #parentOf(parent: Parent | null): string | null {
    if (parent === null) return null;
    if (typeof parent === 'string') return this.#byKey.get(parent) ?? parent;
    const id = this.#byNode.get(parent);
    if (id === undefined) throw new TypeError('the parent of a node must be created by this generator before it');
    return id;
  }

  #sendBatch(): void {
    const batch: NodeCreation[] = [];
    let nodes = 0;
    while (batch.length < this.#waiting.length && nodes < this.#batchNodes) {
      const next = this.#waiting[batch.length]!;
      batch.push(next.creation);
      nodes += next.nodes;
    }
    this.#waiting.splice(0, batch.length);
    this.#waitingNodes -= nodes;
    this.#underWay += 1;
    this.#underWayNodes += nodes;
    const ended = (): void => {
      this.#underWay -= 1;
      this.#underWayNodes -= nodes;
      for (const resolve of this.#whenMoved.splice(0)) resolve();
    };
    Promise.resolve(this.#options.sink.send(batch)).then(ended, (error: unknown) => {
      this.#failure ??= { error };
      ended();
    });
  }

  /** Resolves when the full batch has been sent. */
  async #room(): Promise<void> {
    while (this.#waitingNodes >= this.#batchNodes) {
      if (this.#failure !== undefined) throw this.#failure.error;
      if (this.#underWay < this.#underWayMax) this.#sendBatch();
      else await this.#moved();
    }
  }

  #moved(): Promise<void> {
    return new Promise((resolve) => this.#whenMoved.push(resolve));
  }
}

/** Values that are not nodes have no key, and are rejected when built. */
function keyOf(spec: Node): string | undefined {
  return isNode(spec) ? (spec.options.key ?? spec.options.local_id) : undefined;
}
