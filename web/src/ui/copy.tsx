import { useState } from 'react';
import { Button } from './button.tsx';

/** Copies a text. Pages served without TLS from another machine have no clipboard: the text can still be selected. */
export function CopyButton({ text, label = 'Copy' }: { text: string; label?: string }) {
  const [copied, setCopied] = useState(false);
  const clipboard = (navigator as Partial<Navigator>).clipboard;
  if (clipboard === undefined) return null;
  const copy = (): void => {
    void clipboard.writeText(text).then(
      () => setCopied(true),
      () => undefined,
    );
  };
  return (
    <Button look="plain" aria-label={`${label}: ${text}`} onClick={copy} onBlur={() => setCopied(false)}>
      {copied ? 'Copied' : label}
    </Button>
  );
}

/** An id that can be copied. */
export function CopyText({ text }: { text: string }) {
  return (
    <span className="copy-text">
      <code>{text}</code>
      <CopyButton text={text} />
    </span>
  );
}
