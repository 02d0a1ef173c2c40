import { runHostileCommands } from '../../support/kinds/hostile-commands.ts';

runHostileCommands('container');
