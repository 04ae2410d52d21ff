/** 128 random bits in hex. `crypto.randomUUID` exists only on pages with https. */
export const newId = (): string =>
  [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('')
