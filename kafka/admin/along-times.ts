import { isDeepStrictEqual } from 'node:util'

/**
 * @param times ascending.
 * @param ask its answers never decrease: times between equal answers are not asked about.
 */
export async function alongTimes<T>(
  times: readonly number[],
  ask: (time: number) => Promise<T>,
): Promise<{ time: number; answer: T }[]> {
  const answers = new Map<number, T>()
  const answerAt = async (index: number): Promise<T> => {
    const answer = answers.get(index) ?? (await ask(times[index] ?? 0))
    answers.set(index, answer)
    return answer
  }

  async function between(first: number, last: number): Promise<void> {
    // not urgent, so one at a time
    const [low, high] = [await answerAt(first), await answerAt(last)]
    const middle = (first + last) >> 1
    if (isDeepStrictEqual(low, high)) for (let index = first; index < last; index++) answers.set(index, low)
    else if (middle > first) {
      await between(first, middle)
      await between(middle, last)
    }
  }

  if (times.length > 0) await between(0, times.length - 1)
  return times.flatMap((time, index) => {
    const answer = answers.get(index)
    return answer === undefined ? [] : [{ time, answer }]
  })
}
