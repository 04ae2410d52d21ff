/** How this library names itself to the service; a test compares both with package.json. */
export const LIBRARY = { name: 'sluice-node', version: '0.1.0' } as const
