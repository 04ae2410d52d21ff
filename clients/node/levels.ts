const [QUOTE, BACKSLASH] = ['"'.charCodeAt(0), '\\'.charCodeAt(0)]
const OPENING = new Set(['{'.charCodeAt(0), '['.charCodeAt(0)])
const CLOSING = new Set(['}'.charCodeAt(0), ']'.charCodeAt(0)])

/** Whether a JSON text has more than so many levels of objects and arrays, the outermost being the first. */
export function isDeeper(json: string, most: number): boolean {
  if (!hasMoreOpening(json, most)) return false
  let [level, inText] = [0, false]
  for (let at = 0; at < json.length; at++) {
    const char = json.charCodeAt(at)
    if (char === BACKSLASH) at++
    else if (char === QUOTE) inText = !inText
    else if (inText) continue
    else if (OPENING.has(char) && ++level > most) return true
    else if (CLOSING.has(char)) level--
  }
  return false
}

/** No text has more levels than brackets: few have to be read character by character. */
function hasMoreOpening(json: string, most: number): boolean {
  let count = 0
  for (const bracket of ['{', '['])
    for (let at = json.indexOf(bracket); at >= 0; at = json.indexOf(bracket, at + 1))
      if (++count > most) return true
  return false
}
