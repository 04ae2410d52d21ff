/** Who has signed in. `isOver`: the session has ended; what was on the page stays until somebody signs in again. */
export type Session = { who: 'admin' | 'view'; isOver: boolean }

/** What a session is once the server does not know it any more. Null: nobody was signed in. */
export const ended = (before: Session | null | undefined): Session | null =>
  before ? { ...before, isOver: true } : null
