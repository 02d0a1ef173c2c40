/** The workflow of the survey, as accepted by `POST /v1/workflows` and in a job's definition. */

/** The container that the generator fills. */
export const MEASURES = 'measures';

export interface SurveyOptions {
  /** The surveyed directory. */
  root: string;
  /** Where the end of the survey is announced, with the key that authenticates the announcement. */
  announce: { url: string; key: string };
}

export function surveyWorkflow({ root, announce }: SurveyOptions) {
  const webhook = (text: string) => ({
    kind: 'Webhook',
    params: { url: announce.url, verb: 'Post', headers: { 'x-api-key': announce.key }, body: { text } },
  });
  return {
    name: 'survey of a directory',
    root: {
      mode: 'sequential',
      children: [
        {
          id: 'files',
          mode: 'parallel',
          policy: 'ContinueOnPartialFailure',
          children: [
            { id: 'list', kind: 'survey.list', name: 'list files', input: { root }, generator: true },
            { id: MEASURES, mode: 'parallel', policy: 'ContinueOnPartialFailure', children: [] },
          ],
        },
        {
          id: 'total',
          kind: 'survey.total',
          name: 'sum up',
          on_success: [webhook('the survey is done')],
          on_failure: [webhook('the survey failed')],
        },
      ],
    },
  };
}
