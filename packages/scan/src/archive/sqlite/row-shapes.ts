import { sizeOf, varint } from './numbers.ts';
import type { Cell } from './pages.ts';
import type { RowShape } from './remains.ts';

/** Shapes that deleted rows are compared with, and sizes of first values that are counted for one. */
const SHAPES_MAX = 64;
const SIZES_MAX = 64;

/** Collects the shapes of the rows of a database's tables; those of the same shape are one. */
export class RowShapes {
  readonly #shapes = new Map<string, CountedShape>();

  /** Returns the shape of a table; null if there are too many. */
  add(columns: number, hasRowIds: boolean): CountedShape | null {
    const key = `${columns} ${hasRowIds}`;
    const known = this.#shapes.get(key);
    if (known !== undefined || this.#shapes.size >= SHAPES_MAX) return known ?? null;
    const shape = new CountedShape(columns, hasRowIds);
    this.#shapes.set(key, shape);
    return shape;
  }

  /** Returns those with the most columns first: the more types of a row are verified, the surer it is one. */
  list(): RowShape[] {
    const shapes = [...this.#shapes.values()].map((shape) => shape.toShape());
    return shapes.toSorted((one, other) => other.columns - one.columns);
  }
}

class CountedShape {
  readonly #columns: number;
  readonly #hasRowIds: boolean;
  readonly #firstSizes = new Map<number, number>();

  constructor(columns: number, hasRowIds: boolean) {
    this.#columns = columns;
    this.#hasRowIds = hasRowIds;
  }

  /** Counts the sizes of first values, which deleted rows no longer tell. */
  count(rows: readonly Cell[]): void {
    if (this.#hasRowIds) return;
    for (const { payload } of rows) {
      const header = varint(payload, 0);
      const type = header === null ? null : varint(payload, header.end);
      const size = type === null ? Number.NaN : sizeOf(Number(type.value));
      const count = this.#firstSizes.get(size) ?? 0;
      if (size > 0 && (count > 0 || this.#firstSizes.size < SIZES_MAX)) this.#firstSizes.set(size, count + 1);
    }
  }

  toShape(): RowShape {
    const sizes = [...this.#firstSizes].toSorted(([, one], [, other]) => other - one).map(([size]) => size);
    return { columns: this.#columns, firstSizes: this.#hasRowIds ? null : sizes };
  }
}
