/** How certain a finding is, from the least to the most. */
export const CONFIDENCES = ['low', 'medium', 'high'] as const;
export type Confidence = (typeof CONFIDENCES)[number];

export function isAtLeast(confidence: Confidence, minimum: Confidence): boolean {
  return CONFIDENCES.indexOf(confidence) >= CONFIDENCES.indexOf(minimum);
}
