const INITIAL = 128;
const MIN = 32;
/** A window is judged over at least so many queries and so much time. */
const EPOCH_QUERIES_MIN = 128;
const EPOCH_MIN_MS = 20;
/** On a line that loses queries anyway, over so many times what one is waited for: its losses come all at once. */
const LOSSY_EPOCHS = 2;
/** More than this is taken for the sign of too many queries at once. */
const LOSS_MAX = 0.05;
const CUT = 0.75;
const GROWTH = 1.5;
/** A growth of the window pays where the answers a second grow by this share of it. */
const GAIN_SHARE = 0.5;
const HOLD_MS = 1000;
/** By how much loss that has nothing to do with the window may vary. */
const TOLERANCE = 0.1;
const TOLERANCE_SMOOTHING = 0.1;

/**
 * How many queries at once a resolver bears. The window grows for as long as more at once bring more answers a second, and
 * shrinks at once when too many get lost, since a question has few tries. What is still lost of the few queries of the
 * smallest window is lost whatever is asked: only loss beyond that counts from then on, and the window grows again where
 * that pays.
 */
export class QueryWindow {
  size: number;
  /** Whether the window kept a query waiting since it was last judged. */
  limited = false;
  readonly #max: number;

  #epochStart = 0;
  #answered = 0;
  #lost = 0;
  /** Of the window that growth started from; 0 where there is none. */
  #rate = 0;
  #before = 0;
  #holdUntil = 0;
  #lossMax = LOSS_MAX;

  constructor(max: number) {
    this.#max = max;
    this.size = Math.min(INITIAL, max);
  }

  /** @param lossMs how long a query is waited for */
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
    else this.#bear(loss, this.#answered / elapsedMs, nowMs);
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

  #bear(loss: number, rate: number, nowMs: number): void {
    // What was lost for other reasons, and is not any more, is no excuse for what is lost later.
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

  /** The window stays as it is for a while; then whether more would bring more is found out anew. */
  #hold(nowMs: number): void {
    this.#holdUntil = nowMs + HOLD_MS;
    this.#rate = 0;
    this.#before = 0;
  }
}
