/** What holds for the whole API. */
export const ABOUT = `Settings, audiences and deletions, and what goes on. Each request brings a token, or the cookie of a session.

Every error is \`{code, message, errors}\`: clients go by the codes, people by the messages, and \`errors\` names all that is wrong
with the content of a request. Fields and parameters that are not described are refused.

Records have a \`version\`, which is their \`ETag\`: a PUT says in \`If-Match\` which one it replaces, and gets 412 when another has
been written meanwhile. With \`?dryRun=true\` a write of settings is judged as it would be, the answer tells what it would change,
and nothing is written. Secrets and the values of webhooks' headers are shown as \`"***"\`, write keys to the admin alone; sent
back, \`"***"\` keeps what there is. Lists come in pages: \`next\` is the \`cursor\` of the next one, null at the end.

Whoever sends ten wrong tokens a minute from one address, or a hundred come from all, waits for \`Retry-After\`.`
