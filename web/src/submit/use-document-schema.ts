import { useMemo } from 'react';
import { useKinds, useSchemas } from '../data/kinds.ts';
import { batchSchema, workflowSchema } from './document-schema.ts';

/** The schema of a batch or a workflow; null until it is known. Built again only when other kinds occur in the text. */
export function useDocumentSchema(type: 'batch' | 'workflow', text: string): object | null {
  const schemas = useSchemas();
  const kinds = useKinds();
  const named = kinds.filter(({ name }) => text.includes(JSON.stringify(name))).map(({ name }) => name);
  return useMemo(() => {
    if (schemas === undefined) return null;
    return type === 'batch' ? batchSchema(schemas, kinds, text) : workflowSchema(schemas, kinds, text);
  }, [type, schemas, kinds, named.join(' ')]);
}
