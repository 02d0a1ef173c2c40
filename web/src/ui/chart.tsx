import { useEffect, useRef } from 'react';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { onThemeChange } from '../theme.ts';

export interface Series {
  label: string;
  /** The custom property of its colour. */
  colour: string;
  values: readonly (number | null)[];
}

interface ChartProps {
  title: string;
  /** Seconds since the epoch. */
  at: readonly number[];
  series: readonly Series[];
  format: (value: number) => string;
}

const HEIGHT_PX = 150;

/** Lines over time, with the values under the pointer in the legend, and as a table for screen readers. */
export function Chart({ title, at, series, format }: ChartProps) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const data = useRef<uPlot.AlignedData>([[]]);
  data.current = [[...at], ...series.map(({ values }) => [...values])];
  const shape = series.map(({ label, colour }) => `${label} ${colour}`).join();
  useEffect(() => {
    const element = box.current!;
    const draw = (): void => {
      plot.current?.destroy();
      plot.current = new uPlot(optionsOf(element, series, format), data.current, element);
    };
    draw();
    const resized = new ResizeObserver(() => plot.current?.setSize({ width: element.clientWidth, height: HEIGHT_PX }));
    resized.observe(element);
    const stop = onThemeChange(draw);
    return () => {
      resized.disconnect();
      stop();
      plot.current?.destroy();
      plot.current = null;
    };
  }, [shape]);
  useEffect(() => plot.current?.setData(data.current), [at, series]);
  return (
    <figure className="chart">
      <figcaption>{title}</figcaption>
      <div ref={box} aria-hidden="true" />
      <p className="visually-hidden">{summaryOf(series, format)}</p>
    </figure>
  );
}

function summaryOf(series: readonly Series[], format: (value: number) => string): string {
  return series
    .map(({ label, values }) => {
      const known = values.filter((value) => value !== null);
      return known.length === 0
        ? `${label}: none`
        : `${label}: latest ${format(known.at(-1)!)}, highest ${format(Math.max(...known))}`;
    })
    .join('; ');
}

function optionsOf(box: HTMLElement, series: readonly Series[], format: (value: number) => string): uPlot.Options {
  const style = getComputedStyle(box);
  // The canvas knows no custom properties: their computed colours are read from an element.
  const colourOf = (name: string): string => {
    box.style.color = `var(${name})`;
    const { color } = getComputedStyle(box);
    box.style.color = '';
    return color;
  };
  const quiet = colourOf('--quiet');
  const axis = { stroke: quiet, grid: { stroke: colourOf('--line'), width: 1 }, ticks: { show: false } };
  const font = `12px ${style.fontFamily}`;
  return {
    width: box.clientWidth,
    height: HEIGHT_PX,
    cursor: { y: false, drag: { x: false, y: false } },
    scales: { y: { range: (_plot, _low, high) => [0, Math.max(1, high)] } },
    axes: [
      { ...axis, font, values: '{HH}:{mm}' },
      { ...axis, font, size: 64, values: (_plot, values) => values.map((value) => format(value)) },
    ],
    series: [
      { label: 'Time', value: '{HH}:{mm}' },
      ...series.map(({ label, colour }) => ({
        label,
        stroke: colourOf(colour),
        width: 2,
        points: { show: false },
        value: (_plot: uPlot, value: number | null) => (value === null ? '–' : format(value)),
      })),
    ],
  };
}
