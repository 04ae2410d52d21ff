const RESERVED = 1 / 4
const SMALL = 1 / 8

/**
 * A limit that several share. The last quarter is reserved for those that use at most an eighth, so no one can take it
 * all.
 * @param own what one of them uses.
 * @returns how much all together may use when this one asks for more.
 */
export const limitFor = (own: number, all: number): number => (own > all * SMALL ? all * (1 - RESERVED) : all)
