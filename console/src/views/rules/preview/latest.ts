export type Answer<Output> = { value: Output } | { error: unknown }

type Options<Input, Output> = {
  request: (input: Input) => Promise<Output>
  onAnswer: (answer: Answer<Output>, input: Input) => void
}

/** `ask` replaces a waiting input. `close` stops requests and answers. */
export type Latest<Input> = { ask(input: Input): void; close(): void }

/** One request at a time, for the newest input. Drops an answer if a newer input waits. */
export function latestOnly<Input, Output>({ request, onAnswer }: Options<Input, Output>): Latest<Input> {
  let waiting: Input | undefined
  let isRunning = false
  let isClosed = false

  async function run(): Promise<void> {
    isRunning = true
    while (waiting !== undefined && !isClosed) {
      const input = waiting
      waiting = undefined
      const answer = await answerOf(request(input))
      if (waiting === undefined && !isClosed) onAnswer(answer, input)
    }
    isRunning = false
  }

  return {
    ask(input) {
      waiting = input
      if (!isRunning) void run()
    },
    close() {
      isClosed = true
    },
  }
}

async function answerOf<Output>(request: Promise<Output>): Promise<Answer<Output>> {
  try {
    return { value: await request }
  } catch (error) {
    return { error }
  }
}
