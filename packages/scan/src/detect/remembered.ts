/** Returns a function that remembers its answers for up to `max` texts, then forgets all of them. */
export function remembered<T>(max: number, answerTo: (text: string) => T): (text: string) => T {
  const answers = new Map<string, T>();
  return (text) => {
    const known = answers.get(text);
    if (known !== undefined) return known;
    const answer = answerTo(text);
    if (answers.size >= max) answers.clear();
    answers.set(text, answer);
    return answer;
  };
}
