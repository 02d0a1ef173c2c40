import { VERSION } from '../package.ts';

/** A file that `init` writes, or what to add to one that exists. */
export interface SetupFile {
  /** Relative to the repository. */
  path: string;
  /** A phrase: `refuses commits that add a secret`. */
  purpose: string;
  state: 'written' | 'unchanged' | 'blocked';
  /** The content, or the part to add to an existing file; null for a baseline. */
  content: string | null;
  /** What to do, if the file was left alone. */
  remedy: string | null;
}

/** The scanner, as a shell runs it: the version that wrote the setup. */
const SCANNER = `npx --yes @heddle/scan@${VERSION}`;

/** Recognizes a hook or job of an earlier `init`, of any version. */
export const SCANNER_NAME = '@heddle/scan';

const WRITTEN = '# Written by `heddle scan init`.';

/** @param args of the scan, quoted for a shell; each begins with a space */
export function hookScript(args: string): string {
  return `#!/bin/sh
${WRITTEN} Refuses a commit that would add a secret; git commit --no-verify commits anyway.
${hookLine(args)}
`;
}

/** The command of a hook: files that cannot be scanned, such as encrypted archives, do not stop a commit. */
export function hookLine(args: string): string {
  return `${SCANNER} --staged --quiet --no-fail-on-incomplete${args} || exit 1`;
}

export function preCommitEntry(args: string): string {
  const entry = JSON.stringify(`${SCANNER} --staged --quiet --no-fail-on-incomplete${args}`);
  return `  - repo: local
    hooks:
      - id: heddle-scan
        name: heddle scan
        entry: ${entry}
        language: system
        pass_filenames: false
        always_run: true
`;
}

/**
 * Credentials that a checkout leaves in `.git` are not those of the repository. Files that cannot be scanned are in the
 * report, and do not fail the job, as in the hook.
 */
function jobLine(args: string, report: string): string {
  return `${SCANNER} . --exclude .git --no-fail-on-incomplete${args} --report ${report}`;
}

export function githubWorkflow(args: string): string {
  return `${WRITTEN}
name: heddle scan
on:
  push:
  pull_request:
permissions:
  contents: read
jobs:
  scan:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
        with:
          persist-credentials: false
      - uses: actions/setup-node@v4
        with:
          node-version: 24
      - run: ${JSON.stringify(jobLine(args, 'html=heddle-scan.html'))}
      - uses: actions/upload-artifact@v4
        if: always()
        with:
          name: heddle-scan
          path: heddle-scan.html
`;
}

export const GITLAB_JOB_PATH = '.gitlab/heddle-scan.yml';

export function gitlabJob(args: string): string {
  return `${WRITTEN}
heddle-scan:
  stage: test
  image: node:24
  script:
    - ${JSON.stringify(jobLine(args, 'junit=heddle-scan.xml'))}
  artifacts:
    when: always
    expire_in: 1 week
    reports:
      junit: heddle-scan.xml
`;
}

export function gitlabInclude(): string {
  return `include:
  - local: ${GITLAB_JOB_PATH}
`;
}
