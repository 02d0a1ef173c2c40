/**
 * Main module of a task process. Standard output and error belong to the event. This folder imports only itself, the
 * event definition and Node's built-ins, because it is linked into one script that is copied into the sandbox. Events
 * can subvert everything here, so the executor validates every byte it receives.
 */
import { resolveOwnPackage } from './modules.ts';
import { PACKAGE_INSTALLED } from './package-name.ts';
import { serve } from './serve.ts';
import { warmUp } from './warm-up.ts';

if (process.argv[2] !== PACKAGE_INSTALLED) resolveOwnPackage();
void warmUp().then(serve);
