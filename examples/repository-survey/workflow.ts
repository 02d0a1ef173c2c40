/** The workflow of the survey, as `POST /v1/workflows` and a job's definition take it. */

/** The container that the generator fills. */
export const MEASURES = 'measures';

export interface SurveyOptions {
  /** The directory that is looked at. */
  root: string;
  /** Where the end of the survey is announced, with what to send there so that it is believed. */
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
            { id: 'list', kind: 'survey.list', name: 'list the files', input: { root }, generator: true },
            { id: MEASURES, mode: 'parallel', policy: 'ContinueOnPartialFailure', children: [] },
          ],
        },
        {
          id: 'total',
          kind: 'survey.total',
          name: 'bring the results together',
          on_success: [webhook('the survey is done')],
          on_failure: [webhook('the survey failed')],
        },
      ],
    },
  };
}
