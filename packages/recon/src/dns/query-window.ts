const INITIAL = 128;
const MIN = 32;
/** Minimum queries and time over which a window is evaluated. */
const EPOCH_QUERIES_MIN = 128;
const EPOCH_MIN_MS = 20;
/** Minimum timeouts over which a lossy path is evaluated: its losses come in bursts. */
const LOSSY_EPOCHS = 2;
/** Loss above this share indicates too many concurrent queries. */
const LOSS_MAX = 0.05;
const CUT = 0.75;
const GROWTH = 1.5;
/** Growth of the window pays off if answers per second grow by this share of it. */
const GAIN_SHARE = 0.5;
const HOLD_MS = 1000;
/** Variation of loss that is unrelated to the window. */
const TOLERANCE = 0.1;
const TOLERANCE_SMOOTHING = 0.1;

/**
 * Adapts the number of concurrent queries to a resolver. The window grows while that brings more answers per second,
 * and shrinks at once if too many queries are lost, since a question has few attempts. Loss that remains at the
 * smallest window is unrelated to load: only loss beyond it counts from then on, and the window grows again where that
 * pays off.
 */
export class QueryWindow {
  size: number;
  /** Whether the window delayed a query since the last evaluation. */
  limited = false;
  readonly #max: number;

  #epochStart = 0;
  #answered = 0;
  #lost = 0;
  /** Answer rate of the window from which growth started; 0 if there is none. */
  #rate = 0;
  #before = 0;
  #holdUntil = 0;
  #lossMax = LOSS_MAX;

  constructor(max: number) {
    this.#max = max;
    this.size = Math.min(INITIAL, max);
  }

  /** @param lossMs timeout of a query */
  onAnswer(nowMs: number, lossMs: number): void {
    this.#answered += 1;
    this.#judge(nowMs, lossMs);
  }

  onLoss(nowMs: number, lossMs: number): void {
    this.#lost += 1;
    this.#judge(nowMs, lossMs);
  }

  #judge(nowMs: number, lossMs: number): void {
    const settled = this.#answered + this.#lost;
    const elapsedMs = nowMs - this.#epochStart;
    if (settled < Math.max(EPOCH_QUERIES_MIN, this.size) || elapsedMs < EPOCH_MIN_MS) return;
    const loss = this.#lost / settled;
    const isLossy = this.#lossMax > LOSS_MAX || (loss > LOSS_MAX && this.size <= MIN);
    if (isLossy && elapsedMs < LOSSY_EPOCHS * lossMs) return;
    if (loss > this.#lossMax) this.#shrink(loss, nowMs);
    else this.#adjust(loss, this.#answered / elapsedMs, nowMs);
    this.limited = false;
    this.#epochStart = nowMs;
    this.#answered = 0;
    this.#lost = 0;
  }

  #shrink(loss: number, nowMs: number): void {
    if (this.size > MIN) {
      this.size = Math.max(MIN, Math.floor(this.size * CUT));
      this.#hold(nowMs);
    } else if (loss < 1) {
      this.#lossMax = loss + TOLERANCE;
      this.#holdUntil = nowMs;
    }
  }

  #adjust(loss: number, rate: number, nowMs: number): void {
    // Unrelated loss that has ceased must not excuse later loss.
    if (loss + TOLERANCE < this.#lossMax) this.#lossMax += (LOSS_MAX - this.#lossMax) * TOLERANCE_SMOOTHING;
    if (this.limited && nowMs >= this.#holdUntil) this.#grow(rate, nowMs);
  }

  #grow(rate: number, nowMs: number): void {
    const grewBy = this.#before === 0 ? 0 : this.size / this.#before - 1;
    if (this.#rate > 0 && rate < this.#rate * (1 + GAIN_SHARE * grewBy)) {
      this.size = this.#before;
      this.#hold(nowMs);
      return;
    }
    this.#rate = rate;
    this.#before = this.size;
    this.size = Math.min(Math.ceil(this.size * GROWTH), this.#max);
  }

  /** Keeps the window for a while; then tests again whether a larger one brings more. */
  #hold(nowMs: number): void {
    this.#holdUntil = nowMs + HOLD_MS;
    this.#rate = 0;
    this.#before = 0;
  }
}
