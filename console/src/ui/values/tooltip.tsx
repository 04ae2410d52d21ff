import { Portal } from '@mantine/core'
import { useWindowEvent } from '@mantine/hooks'
import { type ReactNode, type SyntheticEvent, useId, useState } from 'react'
import { type Place, placeBeside } from './tooltip-place.ts'

type Tooltip = {
  /** For the element that the text explains. */
  target: object
  /** The text while it is shown. Render it beside the element. */
  tip: ReactNode
}

/** A text that appears when the element is hovered, focused or tapped. */
export function useTooltip(text: string | undefined): Tooltip {
  const id = useId()
  const [place, setPlace] = useState<Place>()
  if (!text) return { target: {}, tip: null }
  const show = ({ currentTarget }: SyntheticEvent<HTMLElement>) =>
    setPlace(placeBeside(currentTarget.getBoundingClientRect(), window))
  const hide = () => setPlace(undefined)
  return {
    target: {
      tabIndex: 0,
      onMouseEnter: show,
      onFocus: show,
      onMouseLeave: hide,
      onBlur: hide,
      ...(place && { 'aria-describedby': id }),
    },
    tip: place && <Tip {...{ id, text, place, hide }} />,
  }
}

type TipProps = { id: string; text: string; place: Place; hide: () => void }

function Tip({ id, text, place, hide }: TipProps) {
  // the text does not move with the element
  useWindowEvent('scroll', hide, true)
  useWindowEvent('keydown', ({ key }) => key === 'Escape' && hide())
  return (
    <Portal>
      <div role="tooltip" id={id} className="tooltip" style={place}>
        {text}
      </div>
    </Portal>
  )
}
