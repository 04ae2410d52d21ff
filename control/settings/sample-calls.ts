const CONTEXT = {
  device: { model: 'iPhone7,2', type: 'ios' },
  os: { name: 'iPhone OS', version: '8.1.3' },
  app: { build: '3.0.1.545', name: 'Shop', version: '1.1' },
}

const USER = 'test-user'

/** What a test sends by default, with a made-up user and group. */
export const SAMPLE_CALLS = {
  identify: {
    type: 'identify',
    userId: USER,
    traits: { name: 'Test User', plan: 'pro', logins: 5 },
    context: CONTEXT,
  },
  track: {
    type: 'track',
    userId: USER,
    event: 'Test Event',
    properties: { plan: 'pro', total: '12.50' },
    context: CONTEXT,
  },
  page: {
    type: 'page',
    userId: USER,
    properties: { path: '/', referrer: '', title: 'Shop', url: 'https://shop.example/' },
    context: CONTEXT,
  },
  screen: { type: 'screen', userId: USER, name: 'Home', context: CONTEXT },
  group: {
    type: 'group',
    userId: USER,
    groupId: 'test-group',
    traits: { 'Company Name': 'Test Company', employees: 12 },
    context: CONTEXT,
  },
  alias: { type: 'alias', userId: USER, previousId: 'test-user-before', context: CONTEXT },
} as const
