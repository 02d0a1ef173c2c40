/** A minimal local EC2 that speaks the Query protocol to the AWS SDK and can fail on demand. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

import { listAt, parseQuery, textAt, toXml, type QueryValue, type Xml } from './query.ts';

const NAMESPACE = 'http://ec2.amazonaws.com/doc/2016-11-15/';

export interface FakeInstance {
  readonly id: string;
  readonly type: string;
  readonly subnet: string | null;
  readonly spot: boolean;
  readonly tags: ReadonlyMap<string, string>;
  readonly launchedAt: Date;
  state: 'pending' | 'running' | 'shutting-down' | 'terminated';
  /** Number of listings that still omit it. */
  hiddenFor: number;
}

export interface Trouble {
  readonly action: string;
  /**
   * An error code, or `hang-up`: the connection breaks; `drop-answer`: the call is executed, then the connection
   * breaks.
   */
  readonly code: string;
  readonly status?: number;
}

class QueryError extends Error {
  readonly code: string;
  readonly status: number;
  constructor(code: string, message: string, status = 400) {
    super(message);
    this.code = code;
    this.status = status;
  }
}

interface Template {
  readonly name: string;
  readonly versions: { description: string; data: QueryValue | undefined }[];
}

export class FakeEc2 {
  readonly instances = new Map<string, FakeInstance>();
  readonly templates = new Map<string, Template>();
  readonly calls: { action: string; query: QueryValue }[] = [];
  /** Each applies once, in order, to the next call of its action. */
  readonly troubles: Trouble[] = [];
  /** Remaining capacity by type; unlimited for types that are not listed. */
  readonly capacity = new Map<string, number>();
  /** Type that EC2 chooses for requirements of processors and memory. */
  chosenType = 'm7i.large';
  hiddenFor = 0;
  pageMax = 1_000;
  readonly #tokens = new Map<string, { parameters: string; answer: Xml; action: string }>();
  readonly #server: Server;
  #made = 0;

  constructor() {
    this.#server = createServer((request, response) => {
      this.#handle(request, response).catch((error: unknown) => response.destroy(error as Error));
    });
  }

  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  alive(): FakeInstance[] {
    return [...this.instances.values()].filter(({ state }) => state === 'pending' || state === 'running');
  }

  count(action: string): number {
    return this.calls.filter((call) => call.action === action).length;
  }

  /** Adds an instance that belongs to no runner. */
  plant(tags: Readonly<Record<string, string>>): FakeInstance {
    return this.#make(this.chosenType, null, false, new Map(Object.entries(tags)));
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await text(request);
    const query = parseQuery(body);
    const action = textAt(query, 'Action') ?? '';
    this.calls.push({ action, query });
    const at = this.troubles.findIndex((trouble) => trouble.action === action);
    const [trouble] = at < 0 ? [] : this.troubles.splice(at, 1);
    try {
      if (trouble?.code === 'hang-up') return void response.destroy();
      if (trouble !== undefined && trouble.code !== 'drop-answer')
        throw new QueryError(trouble.code, `simulated: ${trouble.code}`, trouble.status ?? 400);
      const answer = this.#once(action, query, body);
      if (trouble?.code === 'drop-answer') return void response.destroy();
      const xml = toXml(`${action}Response`, answer).replace('>', ` xmlns="${NAMESPACE}">`);
      response.writeHead(200, { 'content-type': 'text/xml;charset=UTF-8' }).end(xml);
    } catch (error) {
      if (!(error instanceof QueryError)) throw error;
      const { code: Code, message: Message, status } = error;
      const xml = toXml('Response', { Errors: { Error: { Code, Message } }, RequestID: 'r-1' });
      response.writeHead(status, { 'content-type': 'text/xml;charset=UTF-8' }).end(xml);
    }
  }

  /** Repeats the answer of a known token, and refuses it if the parameters differ. */
  #once(action: string, query: QueryValue, body: string): Xml {
    const token = textAt(query, 'ClientToken');
    if (token === undefined) return this.#answer(action, query);
    const parameters = body
      .split('&')
      .filter((part) => !part.startsWith('ClientToken='))
      .sort()
      .join('&');
    const known = this.#tokens.get(token);
    if (known !== undefined) {
      if (known.parameters !== parameters || known.action !== action)
        throw new QueryError('IdempotentParameterMismatch', 'The parameters are not those of the first call.');
      return known.answer;
    }
    const answer = this.#answer(action, query);
    this.#tokens.set(token, { parameters, answer, action });
    return answer;
  }

  #answer(action: string, query: QueryValue): Xml {
    switch (action) {
      case 'RunInstances':
        return this.#run(query);
      case 'CreateFleet':
        return this.#fleet(query);
      case 'DescribeInstances':
        return this.#describe(query);
      case 'TerminateInstances':
        return this.#terminate(query);
      case 'CreateLaunchTemplate':
      case 'CreateLaunchTemplateVersion':
        return this.#template(action, query);
      case 'DescribeLaunchTemplateVersions':
        return this.#versions(query);
      default:
        throw new QueryError('InvalidAction', `The action ${action} is not valid.`);
    }
  }

  #run(query: QueryValue): Xml {
    const type = textAt(query, 'InstanceType')!;
    this.#checkTemplate(textAt(query, 'LaunchTemplate.LaunchTemplateName'));
    if (!this.#takeCapacity(type))
      throw new QueryError('InsufficientInstanceCapacity', `There is no ${type} now.`, 500);
    const spot = textAt(query, 'InstanceMarketOptions.MarketType') === 'spot';
    const instance = this.#make(type, textAt(query, 'SubnetId') ?? null, spot, tagsIn(query));
    return { reservationId: 'r-1', instancesSet: [itemOf(instance)] };
  }

  #fleet(query: QueryValue): Xml {
    this.#checkTemplate(textAt(query, 'LaunchTemplateConfigs.1.LaunchTemplateSpecification.LaunchTemplateName'));
    const wanted = Number(textAt(query, 'TargetCapacitySpecification.TotalTargetCapacity'));
    const spot = textAt(query, 'TargetCapacitySpecification.DefaultTargetCapacityType') === 'spot';
    const overrides = listAt(query, 'LaunchTemplateConfigs.1.Overrides');
    const tags = tagsIn(query);
    const made: FakeInstance[] = [];
    const lacking = new Set<string>();
    for (const override of overrides) {
      const type = textAt(override, 'InstanceType') ?? this.chosenType;
      while (made.length < wanted && this.#takeCapacity(type))
        made.push(this.#make(type, textAt(override, 'SubnetId') ?? null, spot, tags));
      if (made.length < wanted) lacking.add(type);
    }
    const byType = Map.groupBy(made, ({ type }) => type);
    return {
      fleetId: `fleet-${this.#made}`,
      errorSet: [...lacking].map((type) => ({
        errorCode: 'InsufficientInstanceCapacity',
        errorMessage: `There is no ${type} now.`,
      })),
      fleetInstanceSet: [...byType].map(([type, group]) => ({
        instanceIds: group.map(({ id }) => id),
        instanceType: type,
      })),
    };
  }

  #describe(query: QueryValue): Xml {
    const filters = listAt(query, 'Filter').map((filter) => ({
      name: textAt(filter, 'Name')!,
      values: listAt(filter, 'Value').map(({ text: value }) => value),
    }));
    const start = Number(textAt(query, 'NextToken') ?? 0);
    const size = Math.min(Number(textAt(query, 'MaxResults') ?? 1_000), this.pageMax);
    const found = [...this.instances.values()].filter((instance) =>
      filters.every(({ name, values }) => values.includes(fieldOf(instance, name))),
    );
    const shown = found.filter((instance) => instance.hiddenFor === 0);
    for (const instance of found) instance.hiddenFor = Math.max(0, instance.hiddenFor - 1);
    const page = shown.slice(start, start + size);
    return {
      reservationSet: page.map((instance) => ({ reservationId: 'r-1', instancesSet: [itemOf(instance)] })),
      nextToken: start + size < shown.length ? String(start + size) : undefined,
    };
  }

  #terminate(query: QueryValue): Xml {
    const ids = listAt(query, 'InstanceId').map(({ text: id }) => id!);
    const unknown = ids.filter((id) => !this.instances.has(id));
    if (unknown.length > 0)
      throw new QueryError('InvalidInstanceID.NotFound', `The instance IDs '${unknown.join(', ')}' do not exist`);
    for (const id of ids) this.instances.get(id)!.state = 'terminated';
    return { instancesSet: ids.map((instanceId) => ({ instanceId })) };
  }

  #template(action: string, query: QueryValue): Xml {
    const name = textAt(query, 'LaunchTemplateName')!;
    const known = this.templates.get(name);
    if (action === 'CreateLaunchTemplate' && known !== undefined)
      throw new QueryError('InvalidLaunchTemplateName.AlreadyExistsException', `${name} is there.`);
    const template = known ?? { name, versions: [] };
    this.templates.set(name, template);
    template.versions.push({
      description: textAt(query, 'VersionDescription') ?? '',
      data: query.members.get('LaunchTemplateData'),
    });
    return { launchTemplate: { launchTemplateName: name } };
  }

  #versions(query: QueryValue): Xml {
    const name = textAt(query, 'LaunchTemplateName')!;
    const template = this.templates.get(name);
    if (template === undefined)
      throw new QueryError('InvalidLaunchTemplateName.NotFoundException', `There is no ${name}.`);
    const { description } = template.versions.at(-1)!;
    return { launchTemplateVersionSet: [{ launchTemplateName: name, versionDescription: description }] };
  }

  #checkTemplate(name: string | undefined): void {
    if (name !== undefined && !this.templates.has(name))
      throw new QueryError('InvalidLaunchTemplateName.NotFoundException', `There is no ${name}.`);
  }

  #takeCapacity(type: string): boolean {
    const left = this.capacity.get(type);
    if (left === undefined) return true;
    if (left === 0) return false;
    this.capacity.set(type, left - 1);
    return true;
  }

  #make(type: string, subnet: string | null, spot: boolean, tags: ReadonlyMap<string, string>): FakeInstance {
    const id = `i-${(this.#made += 1).toString(16).padStart(17, '0')}`;
    const { hiddenFor } = this;
    const instance: FakeInstance = {
      id,
      type,
      subnet,
      spot,
      tags,
      launchedAt: new Date(),
      state: 'pending',
      hiddenFor,
    };
    this.instances.set(id, instance);
    return instance;
  }
}

function tagsIn(query: QueryValue): Map<string, string> {
  const tags = listAt(query, 'TagSpecification').flatMap((each) => listAt(each, 'Tag'));
  return new Map(tags.map((tag) => [textAt(tag, 'Key')!, textAt(tag, 'Value')!]));
}

function fieldOf(instance: FakeInstance, filter: string): string | undefined {
  if (filter === 'instance-state-name') return instance.state;
  if (filter.startsWith('tag:')) return instance.tags.get(filter.slice('tag:'.length));
  throw new QueryError('InvalidParameterValue', `The filter ${filter} is not valid`);
}

function itemOf(instance: FakeInstance): Xml {
  return {
    instanceId: instance.id,
    instanceType: instance.type,
    instanceState: { code: 0, name: instance.state },
    launchTime: instance.launchedAt.toISOString(),
    tagSet: [...instance.tags].map(([key, value]) => ({ key, value })),
  };
}
