/**
 * Preloaded into each process of `npm start` (`node --import`): when the parent is gone, however it ended, its end of the
 * channel is closed and this process ends at once. Without a channel, started by hand, it does nothing.
 */
process.once('disconnect', () => process.exit(1))
// after the listener, which would otherwise keep the process running for the channel's sake
process.channel?.unref()
