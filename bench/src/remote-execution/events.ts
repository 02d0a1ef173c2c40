interface BenchEvent {
  memory_mb?: number;
  idempotent?: boolean;
  /** Sent as source text, so it must not use anything outside itself. */
  run: () => unknown;
}

export const CAP_MIB = 128;

const EVENTS: Readonly<Record<string, BenchEvent>> = {
  NoOp: { idempotent: true, run: () => null },
  Spin: {
    run: () => {
      for (;;);
    },
  },
  SpinWithChildren: {
    run: async () => {
      const { spawn } = await import('node:child_process');
      for (let made = 0; made < 3; made += 1) spawn('sleep', ['1000'], { detached: true, stdio: 'ignore' });
      for (;;);
    },
  },
  AllocateBuffers: {
    memory_mb: CAP_MIB,
    run: () => {
      const held: Buffer[] = [];
      for (;;) held.push(Buffer.alloc(1024 * 1024, 1));
    },
  },
  AllocateObjects: {
    memory_mb: CAP_MIB,
    run: () => {
      const held: object[] = [];
      for (let made = 0; ; made += 1) held.push({ made, text: `object ${made}` });
    },
  },
};

/**
 * A module of the events in plain JavaScript, as packages are published: stripping types takes as long as starting
 * Node.
 */
export function eventsModule(): string {
  const definitions = Object.entries(EVENTS).map(([name, { run, ...options }]) => {
    const fields = Object.entries({ name, ...options }).map(([key, value]) => `${key}: ${JSON.stringify(value)}`);
    return `  defineEvent({ ${fields.join(', ')}, run: ${run.toString()} }),\n`;
  });
  return `import { defineEvent } from '@heddle/kit/event';\n\nexport default [\n${definitions.join('')}];\n`;
}
