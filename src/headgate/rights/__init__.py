"""Who may do what with which content, and since which version?"""
