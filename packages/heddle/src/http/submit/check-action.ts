import { webhookHeaderFaults, webhookUrlFault } from '@heddle/core/domain/webhook';
import type { FaultList } from '../validation/explain.ts';
import { memberPath } from '@heddle/base/json/path';
import type { NewActionDto } from '../wire/action.ts';

/** Checks each address once, however many tasks share it. */
export class ActionCheck {
  readonly #ssrf: (url: string) => string | null;
  readonly #urlFaults = new Map<string, string | null>();

  constructor(ssrf: (url: string) => string | null) {
    this.#ssrf = ssrf;
  }

  /** Checks that a schema cannot express for a webhook: its address and its headers. */
  check(action: NewActionDto, at: string, faults: FaultList): void {
    const { url, headers } = action.params;
    let fault = this.#urlFaults.get(url);
    if (fault === undefined) {
      fault = this.#urlFault(url);
      this.#urlFaults.set(url, fault);
    }
    if (fault !== null) faults.add(`${at}.params.url`, fault);
    for (const [name, headerFault] of webhookHeaderFaults(headers ?? {})) {
      faults.add(memberPath(`${at}.params.headers`, name), headerFault);
    }
  }

  #urlFault(url: string): string | null {
    return webhookUrlFault(url) ?? this.#ssrf(url);
  }
}
