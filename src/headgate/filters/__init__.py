"""The condition language: what does a filter say, whom does it match, and what does it cover?"""
