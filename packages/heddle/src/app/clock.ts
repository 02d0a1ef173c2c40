export { systemClock, type Clock } from '@heddle/base/clock';
