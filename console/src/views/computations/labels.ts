import type { Kind } from '../../api/computations.ts'

type Words = {
  title: string
  one: string
  lead: string
  empty: string
  example: string
  upload: string
  format: string
}

export const WORDS: Record<Kind, Words> = {
  audiences: {
    title: 'Audiences',
    one: 'audience',
    lead: 'Who is in a group of users. Receivers get an identify call when somebody joins or leaves.',
    empty:
      'Name one, and upload who is in it: an identify call is sent about each member, and later only about who joined or left.',
    example: 'High Value Users',
    upload: 'Upload members',
    format: 'All members as they are now, one user id a line. Who is not named has left.',
  },
  traits: {
    title: 'Traits',
    one: 'trait',
    lead: 'A computed value of each user. Receivers get an identify call when it changes.',
    empty:
      'Name one, and upload its values: an identify call is sent for each, and later only for those that changed.',
    example: 'Lifetime Value',
    upload: 'Upload values',
    format:
      'One line for each user, like {"userId": "u1", "value": 42}. Who is not named keeps theirs; null takes one away.',
  },
}
