import { Component } from 'react';
import type { ReactNode } from 'react';

/** Shown instead of an empty window when the console itself fails. */
export class ErrorScreen extends Component<{ children: ReactNode }, { failure: unknown }> {
  override state: { failure: unknown } = { failure: null };

  static getDerivedStateFromError(failure: unknown): { failure: unknown } {
    return { failure };
  }

  override render(): ReactNode {
    if (this.state.failure === null) return this.props.children;
    return (
      <main className="card" role="alert">
        <h1>The console failed</h1>
        <p className="breakable">
          {this.state.failure instanceof Error ? this.state.failure.message : 'Unknown reason.'}
        </p>
        <p>The tasks are not affected. Reload the page; if it fails again, report the message above.</p>
        <button type="button" onClick={() => location.reload()}>
          Reload
        </button>
      </main>
    );
  }
}
