/** Sent to the service; a test compares it with package.json. */
export const LIBRARY = { name: 'sluice-node', version: '0.1.0' } as const
