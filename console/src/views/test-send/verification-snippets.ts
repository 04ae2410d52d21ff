import sha1Go from '../../../../examples/verify/sha1/verify.go?raw'
import sha1Node from '../../../../examples/verify/sha1/verify.mjs?raw'
import sha1Php from '../../../../examples/verify/sha1/verify.php?raw'
import sha1Python from '../../../../examples/verify/sha1/verify.py?raw'
import sha1Ruby from '../../../../examples/verify/sha1/verify.rb?raw'
import standardGo from '../../../../examples/verify/standard-webhooks/verify.go?raw'
import standardNode from '../../../../examples/verify/standard-webhooks/verify.mjs?raw'
import standardPhp from '../../../../examples/verify/standard-webhooks/verify.php?raw'
import standardPython from '../../../../examples/verify/standard-webhooks/verify.py?raw'
import standardRuby from '../../../../examples/verify/standard-webhooks/verify.rb?raw'

type VerificationSnippet = { language: string; code: string }

const SHA1: readonly VerificationSnippet[] = [
  { language: 'Node', code: sha1Node },
  { language: 'Go', code: sha1Go },
  { language: 'Python', code: sha1Python },
  { language: 'PHP', code: sha1Php },
  { language: 'Ruby', code: sha1Ruby },
]
const STANDARD: readonly VerificationSnippet[] = [
  { language: 'Node', code: standardNode },
  { language: 'Go', code: standardGo },
  { language: 'Python', code: standardPython },
  { language: 'PHP', code: standardPhp },
  { language: 'Ruby', code: standardRuby },
]

/** Functions for people to copy. Tests run each file. */
export const snippetsOf = (isStandard: boolean): readonly VerificationSnippet[] =>
  isStandard ? STANDARD : SHA1
