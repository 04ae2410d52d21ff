/**
 * Preloaded (`node --import`) into the processes of `npm start`. The IPC channel closes however the parent ends. A
 * process started by hand has none.
 */
process.once('disconnect', () => process.exit(1))
// after the listener, which would let the channel keep the process running
process.channel?.unref()
