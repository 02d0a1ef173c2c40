import type { EventContext } from './event-options.ts';
import type { Output } from '@heddle/base/terminal/output';
import { writeTable } from '@heddle/base/terminal/table';

type Remote = EventContext['remote'];
type Endpoints = ReturnType<EventContext['executors']['list']>;

const DIGEST_SHOWN = 12;

export function writeEvents(output: Output, events: Awaited<ReturnType<Remote['events']>>): void {
  output.result(events, () => {
    if (events.length === 0) {
      output.line('this client may not submit any events here');
      return;
    }
    writeTable(
      output,
      [
        { header: 'EVENT', value: ({ event_name }) => event_name, flexible: true },
        { header: 'TIER', value: ({ tier }) => tier },
        { header: 'TIMEOUT', value: ({ timeout_secs }) => `${timeout_secs} s`, align: 'right' },
        { header: 'MEMORY', value: ({ memory_mb }) => `${memory_mb} MB`, align: 'right' },
        { header: 'SOURCE', value: ({ source }) => source },
        { header: 'CODE', value: ({ digest }) => digest?.slice(0, DIGEST_SHOWN) ?? '-' },
      ],
      events,
    );
  });
}

export function writeAnswer(output: Output, answer: Awaited<ReturnType<Remote['poll']>>): void {
  output.result(answer, () => {
    if (answer.status === 'success') {
      output.line(JSON.stringify(answer.result, null, 2));
      return;
    }
    const { fraction, message } = answer.progress ?? {};
    const share = fraction === undefined ? '' : `, ${Math.round(fraction * 100)} %`;
    output.line(`${answer.status}${share}${message === undefined ? '' : `: ${message}`}`);
  });
}

export function writeCanceled(output: Output, answer: Awaited<ReturnType<Remote['cancel']>>): void {
  const { state, correlationId: correlation_id } = answer;
  switch (answer.state) {
    case 'canceled':
    case 'canceling':
      output.result({ correlation_id, state }, () => output.line(`${correlation_id} ${state}`));
      return;
    case 'succeeded': {
      const { result } = answer;
      output.result({ correlation_id, state, result }, () => output.line(`${correlation_id} had already succeeded`));
      return;
    }
    case 'failed': {
      const { code, message } = answer.failure;
      output.result({ correlation_id, state, code, message }, () =>
        output.line(`${correlation_id} had already failed: ${code}: ${message}`),
      );
    }
  }
}

export function writeEndpoints(output: Output, endpoints: Endpoints): void {
  output.result(endpoints, () => {
    writeTable(
      output,
      [
        { header: 'EXECUTOR', value: ({ executor }) => executor },
        { header: 'ENDPOINT', value: ({ endpoint }) => endpoint },
        { header: 'STATE', value: ({ state }) => state },
        { header: 'TIER', value: ({ status }) => status?.tier ?? '-' },
        { header: 'BUSY', value: ({ status }) => (status === null ? '-' : `${status.busy}/${status.workers}`) },
        { header: 'WAITING', value: ({ status }) => String(status?.queue_depth ?? '-'), align: 'right' },
        { header: 'LAST ERROR', value: ({ last_error }) => last_error?.message ?? '', flexible: true },
      ],
      endpoints,
    );
    const recent = endpoints.flatMap(({ status }) => status?.recent ?? []);
    if (recent.length === 0) return;
    output.line();
    writeTable(
      output,
      [
        { header: 'TASK', value: ({ correlation_id }) => correlation_id },
        { header: 'EVENT', value: ({ event_name }) => event_name, flexible: true },
        { header: 'STATUS', value: ({ status, code }) => code ?? status },
        {
          header: 'TOOK',
          value: ({ duration_ms }) => (duration_ms === undefined ? '-' : `${Math.round(duration_ms)} ms`),
          align: 'right',
        },
      ],
      recent,
    );
  });
}
