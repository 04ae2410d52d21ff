import { Computations } from './computations.tsx'

export default function Audiences() {
  return <Computations key="audiences" kind="audiences" />
}
