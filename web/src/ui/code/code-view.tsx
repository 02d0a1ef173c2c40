import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands';
import { json } from '@codemirror/lang-json';
import { bracketMatching, HighlightStyle, indentOnInput, indentUnit, syntaxHighlighting } from '@codemirror/language';
import { lintGutter, lintKeymap, setDiagnostics } from '@codemirror/lint';
import { Compartment, EditorState } from '@codemirror/state';
import { drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers } from '@codemirror/view';
import { tags } from '@lezer/highlight';
import type { KeyBinding } from '@codemirror/view';
import { useEffect, useRef } from 'react';
import { completeJson } from './completion.ts';
import { checkDocument } from './check.ts';
import type { PlacedFault } from './check.ts';
import type { Fault } from './json-path.ts';
import type { Schema } from './schema-walk.ts';

export interface CodeViewProps {
  label: string;
  text: string;
  onChange: (text: string) => void;
  schema: Schema | null;
  /** What the server found wrong with the text as it was sent. */
  serverFaults: readonly Fault[];
  /** What paths begin with in messages; a word, or nothing. */
  root: string;
  /** Reports everything that is wrong, with its line. */
  onFaults: (faults: readonly PlacedFault[]) => void;
  /** Set by the editor: moves the cursor to a place. */
  goTo: React.RefObject<((position: number) => void) | null>;
  describedBy: string;
}

/** Checking waits until typing pauses. */
const CHECK_PAUSE_MS = 150;
/** How long after Escape the Tab key leaves the editor. */
const TAB_LEAVES_MS = 5000;

/** A JSON editor of CodeMirror: coloured, checked and completed by a schema. */
export function CodeView(props: CodeViewProps) {
  const { label, text, schema, serverFaults, goTo, describedBy } = props;
  const box = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const latest = useRef(props);
  latest.current = props;
  // Texts that the editor has reported and that have not come back yet: what is typed meanwhile must not give way to them.
  const reported = useRef<string[]>([]);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const check = (): void => {
    const editor = view.current;
    if (editor === null) return;
    const found = checkDocument(editor.state, {
      schema: latest.current.schema,
      server: latest.current.serverFaults,
      root: latest.current.root,
    });
    const diagnostics = found.map(({ from, to, message }) => ({ from, to, message, severity: 'error' as const }));
    editor.dispatch(setDiagnostics(editor.state, diagnostics));
    latest.current.onFaults(found);
  };
  useEffect(() => {
    const editor = new EditorView({
      parent: box.current!,
      state: EditorState.create({
        doc: latest.current.text,
        extensions: [
          extensions(() => latest.current.schema),
          EditorView.contentAttributes.of({ 'aria-label': label, 'aria-describedby': describedBy }),
          EditorView.updateListener.of(({ docChanged, state }) => {
            if (!docChanged) return;
            reported.current.push(state.doc.toString());
            latest.current.onChange(state.doc.toString());
            clearTimeout(timer.current);
            timer.current = setTimeout(check, CHECK_PAUSE_MS);
          }),
        ],
      }),
    });
    view.current = editor;
    goTo.current = (position) => {
      editor.dispatch({ selection: { anchor: Math.min(position, editor.state.doc.length) }, scrollIntoView: true });
      editor.focus();
    };
    return () => {
      clearTimeout(timer.current);
      editor.destroy();
      view.current = null;
      goTo.current = null;
    };
  }, [label, describedBy]);
  useEffect(() => {
    const editor = view.current;
    const known = reported.current.lastIndexOf(text);
    reported.current.splice(0, known + 1);
    if (editor === null || known !== -1 || editor.state.doc.toString() === text) return;
    editor.dispatch({ changes: { from: 0, to: editor.state.doc.length, insert: text } });
  }, [text]);
  useEffect(check, [schema, serverFaults]);
  return <div ref={box} className="code-view" />;
}

/** Escape belongs to the editor: it lets Tab leave, and does not close the dialog around it. */
const escape: KeyBinding = {
  key: 'Escape',
  run: (view) => {
    view.setTabFocusMode(TAB_LEAVES_MS);
    return true;
  },
  stopPropagation: true,
};

function extensions(schemaOf: () => Schema | null) {
  const source = new Compartment();
  return [
    lineNumbers(),
    lintGutter(),
    history(),
    drawSelection(),
    highlightActiveLine(),
    indentOnInput(),
    indentUnit.of('  '),
    bracketMatching(),
    closeBrackets(),
    json(),
    syntaxHighlighting(COLOURS),
    EditorView.lineWrapping,
    source.of(
      autocompletion({
        override: [
          (context) => {
            const schema = schemaOf();
            return schema === null ? null : completeJson(context, schema);
          },
        ],
        icons: false,
        // This number fits without scrolling: the list has no focus of its own.
        maxRenderedOptions: 12,
        // They open by themselves within quotes only, where Enter means nothing else.
        interactionDelay: 0,
      }),
    ),
    keymap.of([
      ...completionKeymap,
      escape,
      ...closeBracketsKeymap,
      ...defaultKeymap,
      ...historyKeymap,
      ...lintKeymap,
      indentWithTab,
    ]),
  ];
}

const COLOURS = HighlightStyle.define([
  { tag: tags.propertyName, class: 'code-name' },
  { tag: tags.string, class: 'code-string' },
  { tag: [tags.number, tags.bool, tags.null], class: 'code-constant' },
  { tag: [tags.brace, tags.squareBracket, tags.separator], class: 'code-sign' },
]);
