import { Portal } from '@mantine/core'
import { useWindowEvent } from '@mantine/hooks'
import { type ReactNode, type SyntheticEvent, useId, useState } from 'react'
import { placeBeside, type TooltipPosition } from './tooltip-place.ts'

type Tooltip = {
  /** Props of the explained element. */
  target: object
  /** The visible text, to render beside the element. */
  tip: ReactNode
}

/** Appears on hover, focus or tap. */
export function useTooltip(text: string | undefined): Tooltip {
  const id = useId()
  const [place, setPlace] = useState<TooltipPosition>()
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
    tip: place && <Tip id={id} text={text} place={place} hide={hide} />,
  }
}

type TipProps = { id: string; text: string; place: TooltipPosition; hide: () => void }

function Tip({ id, text, place, hide }: TipProps) {
  // the text does not follow the element
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
