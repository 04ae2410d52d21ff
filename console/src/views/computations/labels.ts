import type { Kind } from '../../api/computations.ts'

type Labels = {
  title: string
  singular: string
  lead: string
  empty: string
  example: string
  upload: string
  format: string
}

export const LABELS: Record<Kind, Labels> = {
  audiences: {
    title: 'Audiences',
    singular: 'audience',
    lead: 'Groups of users. Receivers get an identify call when a user joins or leaves.',
    empty:
      'Create an audience and upload its members. Sluice sends an identify call for each member, and later only for users who joined or left.',
    example: 'High Value Users',
    upload: 'Upload members',
    format:
      'The complete list of members: one user ID per line, or CSV with a column userId. Users who are not in it count as having left.',
  },
  traits: {
    title: 'Traits',
    singular: 'trait',
    lead: 'Computed values of users. Receivers get an identify call when a value changes.',
    empty:
      'Create a trait and upload its values. Sluice sends an identify call for each value, and later only for changed ones.',
    example: 'Lifetime Value',
    upload: 'Upload values',
    format:
      'One line per user, such as {"userId": "u1", "value": 42}, or CSV with the columns userId and value. Users who are not listed keep their value. null or an empty field removes it.',
  },
}
