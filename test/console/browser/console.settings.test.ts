import { leaveForms } from './leave.ts'
import { managePeople } from './people.ts'
import { writeRules } from './rules.ts'
import { manageSettings } from './settings.ts'
import { onStage } from './stage.ts'

// the last block ends the session of all others
onStage({
  'the rules of a destination': writeRules,
  'users, uploads and write keys': managePeople,
  'leaving forms': leaveForms,
  'managing settings': manageSettings,
})
