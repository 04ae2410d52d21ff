/**
 * Preloaded (`node --import`) into each process that `npm start` starts. When the parent ends in any way, its IPC
 * channel closes and this process exits. Does nothing in a process started by hand, which has no channel.
 */
process.once('disconnect', () => process.exit(1))
// must follow the listener, which would otherwise let the channel keep the process running
process.channel?.unref()
