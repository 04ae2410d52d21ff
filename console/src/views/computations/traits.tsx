import { Computations } from './computations.tsx'

export default function Traits() {
  return <Computations key="traits" kind="traits" />
}
