import type { ButtonHTMLAttributes, ReactNode } from 'react';
import { Link } from 'wouter';

type Look = 'normal' | 'primary' | 'danger' | 'plain';

interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  look?: Look;
}

export function Button({ look = 'normal', className = '', type = 'button', ...rest }: ButtonProps) {
  return <button {...rest} type={type} className={`button button-${look} ${className}`} />;
}

/** A link that looks like a button: it leads somewhere instead of doing something. */
export function LinkButton({ href, look = 'normal', children }: { href: string; look?: Look; children: ReactNode }) {
  return (
    <Link href={href} className={`button button-${look}`}>
      {children}
    </Link>
  );
}
