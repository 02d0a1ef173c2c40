import type { Command } from 'commander';

import { createBareProgram } from './bare-program.ts';
import { registerAuditCommand } from './commands/audit.ts';
import { registerBatchCommands } from './commands/batch.ts';
import { registerCertsCommand } from './commands/certs.ts';
import { registerConfigCommand } from './commands/config.ts';
import { registerDoctorCommand } from './commands/doctor.ts';
import { registerEventCommands } from './commands/event.ts';
import { registerExecutorCommand } from './commands/executor.ts';
import { registerFindingsCommands } from './commands/findings.ts';
import { registerJobCommands } from './commands/job.ts';
import { registerKeysCommand } from './commands/keys.ts';
import { registerMigrateCommand } from './commands/migrate.ts';
import { registerModelsCommands } from './commands/models.ts';
import { registerPoolCommands } from './commands/pool.ts';
import { registerQueueCommands } from './commands/queue.ts';
import { registerRecoverCommand } from './commands/recover.ts';
import { registerReconCommand } from '@heddle/recon/command/recon-command';
import { registerRunCommand } from './commands/run.ts';
import { registerScanCommand } from '@heddle/scan/command/scan-command';
import { registerServerCommand } from './commands/server.ts';
import { registerTaskCommands } from './commands/task.ts';
import { registerTokenCommand } from './commands/token.ts';
import { registerUpCommand } from './commands/up.ts';
import { registerWebhookCommands } from './commands/webhook.ts';
import { registerWorkerCommand } from './commands/worker.ts';
import { registerWorkflowCommands } from './commands/workflow.ts';

/** Creates the whole command line. Its errors are thrown as CommanderError. */
export function createProgram(): Command {
  const program = createBareProgram();
  registerUpCommand(program);
  registerServerCommand(program);
  registerWorkerCommand(program);
  registerExecutorCommand(program);
  registerEventCommands(program);
  registerMigrateCommand(program);
  registerRecoverCommand(program);
  registerDoctorCommand(program);
  registerConfigCommand(program);
  registerTokenCommand(program);
  registerRunCommand(program);
  registerBatchCommands(program);
  registerTaskCommands(program);
  registerWorkflowCommands(program);
  registerJobCommands(program);
  registerFindingsCommands(program);
  registerModelsCommands(program);
  registerQueueCommands(program);
  registerPoolCommands(program);
  registerWebhookCommands(program);
  registerScanCommand(program);
  registerReconCommand(program);
  registerAuditCommand(program);
  registerKeysCommand(program);
  registerCertsCommand(program);
  return program;
}
