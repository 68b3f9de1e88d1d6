"""The delivery function: what does this subscription receive of this event, and why?"""
