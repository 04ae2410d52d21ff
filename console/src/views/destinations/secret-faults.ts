import { ApiError, uncorrected } from '../../api/client/errors.ts'

const SAME: { code: 'required'; message: string } = {
  code: 'required',
  message: 'This is already the current secret. Enter another one.',
}

/**
 * The faults of a saved secret that remain. The current secret, sent as a new one, leaves the API without a previous
 * one.
 * @param sent undefined before the first request.
 */
export function secretError(
  error: unknown,
  { sent, typed }: { sent: string | undefined; typed: string },
): unknown {
  if (!(error instanceof ApiError)) return error
  const { code, message, status } = error
  const errors = error.faults.map((fault) =>
    fault.pointer === '/previousSecret' ? { ...SAME, pointer: '/sharedSecret' } : fault,
  )
  return uncorrected(
    new ApiError({ code, message, errors }, status),
    { sharedSecret: sent },
    { sharedSecret: typed },
  )
}
